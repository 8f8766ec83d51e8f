/** The interface of a format: where its sessions lie, how its files split, and what its records mean. */
import type { FoundTranscript, TranscriptReader } from "../model.ts";
import type { SourceFolder } from "../read/source-folder.ts";
import type { RowQuery } from "../read/sqlite-copy.ts";

/** The environment that tells where a tool keeps its files. */
export interface HomeFolders {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The folder that a variable names, or the default. An empty variable counts as none. */
export const folderOf = ({ env }: HomeFolders, variable: string, otherwise: string): string =>
  env[variable] || otherwise;

/** How a file becomes records. */
export type RecordSplit =
  | { readonly by: "lines" }
  /** The entries of one field of a document; its other fields are the last record. */
  | { readonly by: "field"; readonly field: string }
  | { readonly by: "document" }
  | { readonly by: "rows"; readonly queries: readonly RowQuery[] }
  /** Belongs to the session, but holds no records. */
  | { readonly by: "nothing" };

/** A tool's way to keep sessions. */
export interface TranscriptFormat {
  readonly name: string;
  /** The product's name, for people. */
  readonly title: string;
  /** The files that it reads, for a path without any. */
  readonly expects: string;
  /** Where the tool keeps its sessions on this machine. */
  folders(home: HomeFolders): readonly string[];
  /** The sessions below a root. Files that are none of this format are left out. */
  find(folder: SourceFolder): Promise<FoundTranscript[]>;
  /**
   * Whether a file of lines may be of this tool, by its first record. Asked in a folder that tools share,
   * where the names of files do not tell them apart.
   */
  begins?(first: Readonly<Record<string, unknown>>): boolean;
  split(found: FoundTranscript, file: string): RecordSplit;
  reader(found: FoundTranscript): TranscriptReader;
}
