// Name -> algorithm, its settings and what it claims.
