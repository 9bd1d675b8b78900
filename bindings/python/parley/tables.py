"""Tables as the engine takes them: dense or sparse, numpy, scipy or frames."""
import numpy


def names_of(table):
    """The column names of a frame, or nothing."""
    columns = getattr(table, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def as_table(name, features, labels=None, *, bounds=None, names=None, ids=None):
    """What the engine reads. Doubles are read where they lie; CSR keeps its entries, too."""
    names = names if names is not None else names_of(features)
    if hasattr(features, "tocsr"):
        matrix = features.tocsr()
        matrix.sort_indices()
        made = {"values": numpy.ascontiguousarray(matrix.data, dtype=numpy.float64),
                "offsets": matrix.indptr, "indices": matrix.indices, "columns": int(matrix.shape[1])}
        rows = matrix.shape[0]
        finite = made["values"]
    else:
        if hasattr(features, "to_numpy"):
            features = features.to_numpy()
        matrix = numpy.asarray(features)
        if matrix.ndim != 2:
            raise ValueError(f"{name}: a table has rows and columns (got {matrix.ndim} dimensions)")
        by_columns = matrix.flags.f_contiguous and not matrix.flags.c_contiguous
        order = "F" if by_columns else "C"
        values = numpy.asarray(matrix, dtype=numpy.float64, order=order)
        made = {"values": values.ravel(order="K"), "by_columns": by_columns, "columns": int(matrix.shape[1])}
        rows = matrix.shape[0]
        finite = values
    if not numpy.isfinite(finite).all():
        raise ValueError(f"{name}: values must be finite (there is a NaN or an infinity)")
    made["name"] = name
    if labels is not None:
        labels = numpy.ascontiguousarray(labels, dtype=numpy.float64)
        if labels.shape != (rows,):
            raise ValueError(f"{name}: there are {rows} rows and labels of shape {labels.shape}")
        made["labels"] = labels
    for key, value in (("bounds", bounds), ("names", names), ("ids", ids)):
        if value is not None:
            made[key] = [float(v) for v in value] if key == "bounds" else [str(v) for v in value]
    return made
