/** Why something waits for approval before it is remembered, in words. */

/** In a few words, for people: `a result of the tool fetch`. */
export function doubtText({ why, tool }: { readonly why: string; readonly tool?: string }): string {
  const what: Readonly<Record<string, string>> = {
    tool: tool === undefined ? "a result of a tool" : `a result of the tool ${tool}`,
    input: "an input that no person typed",
    file: "a file",
    merge: "a merge",
    compaction: "a summary of earlier turns",
    import: "an imported session",
    caller: "a program that proposed it",
    scope: "the model, which asked to share it with all sessions",
  };
  return what[why] ?? why;
}
