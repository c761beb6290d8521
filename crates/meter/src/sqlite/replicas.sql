-- Schema 3: a usage row is named by the replica that counted it. What was recorded before there were
-- replicas is of replica 0, which goes on with its rows.
CREATE TABLE counted (
    account INTEGER NOT NULL,
    key     INTEGER NOT NULL,
    service TEXT NOT NULL,
    chain   TEXT NOT NULL,
    hour    INTEGER NOT NULL,
    replica INTEGER NOT NULL,
    units   INTEGER NOT NULL,
    PRIMARY KEY (account, key, service, chain, hour, replica)
) STRICT, WITHOUT ROWID;
INSERT INTO counted SELECT account, key, service, chain, hour, 0, units FROM usage;
DROP TABLE usage;
ALTER TABLE counted RENAME TO usage;
CREATE INDEX usage_by_hour ON usage (service, hour);
