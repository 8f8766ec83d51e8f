/** The subpath `skein/model`: the port that a model driver implements, and the context that it is sent. */
export type {
  ContextPart,
  MessagePart,
  Metadata,
  ModelBlock,
  ResultBlock,
  Settings,
  SettingsPart,
  SystemPart,
  ToolDefinition,
  ToolsPart,
  UserBlock,
} from "../core/context/part.ts";
export type { ExecutorCall, ExecutorEvent, ExecutorSession, TurnExecutor } from "../core/turn/executor.ts";
export { ModelError } from "../model/port.ts";
export type {
  AnswerBlock,
  FinishReason,
  Model,
  ModelAnswer,
  ModelCall,
  ModelDelta,
  ModelErrorKind,
  ModelFacts,
  ModelListing,
  ModelPrice,
  ModelProgress,
  Embedder,
  Models,
  TokenUsage,
} from "../model/port.ts";
