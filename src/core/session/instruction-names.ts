/** The files in which a project keeps instructions for agents, in the order in which they are looked for. */
export const instructionNames = [
  "AGENTS.md",
  "CLAUDE.md",
  "GEMINI.md",
  ".cursor/rules",
  ".cursorrules",
  ".github/copilot-instructions.md",
] as const;
/** The name of a file with instructions for agents. */
export type InstructionName = (typeof instructionNames)[number];
