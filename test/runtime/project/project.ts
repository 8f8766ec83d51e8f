/** What tests of projects share. */
import type { ProjectId } from "../../../src/core/ids.ts";
import type { StoredRecord } from "../../../src/core/chain.ts";
import type { Place } from "../place.ts";

export const asProjectId = (text: string): ProjectId => text as ProjectId;

/** The records of a project's log. */
export const projectRecords = ({ store }: Place, id: ProjectId): Promise<readonly StoredRecord[]> =>
  store.read(id, { fromSeq: 1, toSeq: 1_000, limit: 1_000, contents: true });
