-- Everything the meter keeps. Times are seconds since 1970, hours are hours since 1970.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: a number is never given twice, as usage rows outlive everything.
CREATE TABLE accounts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL UNIQUE,
    gateway_plan  TEXT NOT NULL,
    explorer_plan TEXT NOT NULL,
    suspended     INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    version       INTEGER NOT NULL -- meta.version of its last change
) STRICT;
CREATE INDEX accounts_by_version ON accounts (version);

CREATE TABLE keys (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL REFERENCES accounts (id),
    digest     BLOB NOT NULL UNIQUE, -- SHA-256 of the key
    prefix     TEXT NOT NULL,        -- first 12 characters, for display
    label      TEXT,
    daily_cap  INTEGER,
    expires_at INTEGER,
    revoked    INTEGER NOT NULL DEFAULT 0,
    scopes     TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    version    INTEGER NOT NULL -- meta.version of its last change
) STRICT;
CREATE INDEX keys_by_account ON keys (account);
CREATE INDEX keys_by_version ON keys (version);

CREATE TABLE usage (
    account INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    service TEXT NOT NULL,
    chain   TEXT NOT NULL,
    hour    INTEGER NOT NULL,
    units   INTEGER NOT NULL,
    PRIMARY KEY (account, key, service, chain, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_hour ON usage (service, hour);
