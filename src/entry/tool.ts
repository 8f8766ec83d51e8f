/** The subpath `skein/tool`: the port behind `defineTool`, for tools made by other means. */
export type { SessionAct } from "../core/tool/session-action.ts";
export type { ProbeAnswer } from "../tool/define.ts";
export type { ExactCommand, InputCheck, OuterTool, SessionTool, Tool, ToolProbe } from "../tool/port.ts";
