"""Jobs as text, from settings as Python has them."""
import json
import numbers


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        text = repr(float(value))
        return text if any(mark in text for mark in ".en") else text + ".0"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise ValueError(f"a setting of a job is a number, a text, true or false, or a list of them, not {value!r}")


def _section(head, keys):
    lines = [head] + [f"{key} = {_value(value)}" for key, value in keys.items() if value is not None]
    return "\n".join(lines) + "\n"


def job_text(*, parties, **sections):
    """A job: sections as dictionaries, and the names of its parties.

        >>> print(job_text(parties=["here"], job={"name": "n", "task": "linear"}, algorithm={"name": "exact"}))
        [job]
        name = "n"
        task = "linear"
        <BLANKLINE>
        [algorithm]
        name = "exact"
        <BLANKLINE>
        [[party]]
        name = "here"
        <BLANKLINE>
    """
    texts = [_section(f"[{name}]", keys) for name, keys in sections.items() if keys]
    texts += [_section("[[party]]", {"name": name}) for name in parties]
    return "\n".join(texts)
