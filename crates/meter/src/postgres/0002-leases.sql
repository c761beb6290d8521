-- Schema 2: several processes count for one store. A pot is the cap of an account's or key's day or
-- month; a lease is how many units of it a replica may have used in all. The row of a pot is locked
-- while leases of it change, so that their sum is known.
CREATE TABLE pots (
    service TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    subject BIGINT NOT NULL,
    stamp   BIGINT NOT NULL,
    PRIMARY KEY (service, kind, subject, stamp)
);

CREATE TABLE leases (
    service TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    subject BIGINT NOT NULL,
    stamp   BIGINT NOT NULL,
    replica BIGINT NOT NULL,
    units   BIGINT NOT NULL,
    PRIMARY KEY (service, kind, subject, stamp, replica)
);
CREATE INDEX leases_by_replica ON leases (service, replica);

-- Who counts, or has counted. The holder is a random number of the process.
CREATE TABLE replicas (
    service TEXT COLLATE "C" NOT NULL,
    replica BIGINT NOT NULL,
    holder  BIGINT NOT NULL,
    live    BOOLEAN NOT NULL,
    heard   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (service, replica)
);
