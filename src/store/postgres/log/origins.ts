/** The session that a log's first record names as its origin (core/branch/origin.ts), found by an index. */

/** Migrates a store to the layout in which logs have an origin. A corrupt body has none. */
export const originsText = `
ALTER TABLE skein.logs ADD COLUMN origin text COLLATE "C";
CREATE FUNCTION skein.origin_of(of_log bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE found text;
BEGIN
  SELECT e.body INTO found FROM skein.events e
  WHERE e.log = of_log AND e.seq = 1 AND e.type = 'session.opened';
  IF found IS NULL THEN
    SELECT s.bodies[1] INTO found FROM skein.segments s
    WHERE s.log = of_log AND s.from_seq = 1 AND s.types[1] = 'session.opened';
  END IF;
  RETURN coalesce(skein.told(found, '{parent,session}'), skein.told(found, '{from}'));
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;
UPDATE skein.logs l SET origin = o.origin
  FROM (SELECT id, skein.origin_of(id) AS origin FROM skein.logs WHERE fork_seq = 0) o
  WHERE o.id = l.id AND o.origin IS NOT NULL;
CREATE INDEX logs_origin ON skein.logs (tenant, origin) WHERE origin IS NOT NULL;
`;
