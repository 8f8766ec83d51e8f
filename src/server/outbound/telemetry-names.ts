/**
 * Names of OpenTelemetry, all in this table: those of its conventions for generative AI, which still change,
 * and a few of our own under `skein.`.
 */
export const names = {
  conversation: "gen_ai.conversation.id",
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  agent: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  outputTokensMax: "gen_ai.request.max_tokens",
  finish: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  tokenType: "gen_ai.token.type",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCall: "gen_ai.tool.call.id",
  errorType: "error.type",
  httpMethod: "http.request.method",
  httpStatus: "http.response.status_code",
  httpRoute: "http.route",
  service: "service.name",
  serviceVersion: "service.version",
  /** Ours. */
  tenant: "skein.tenant",
  turn: "skein.turn",
  outcome: "skein.turn.outcome",
  steps: "skein.turn.steps",
  toolStatus: "skein.tool.status",
  costNanoUsd: "skein.cost.nano_usd",
  unconfirmedNanoUsd: "skein.cost.unconfirmed_nano_usd",
  unconfirmedTokens: "skein.usage.unconfirmed_tokens",
  /** `known` or `unknown`. */
  price: "skein.cost.price",
  /** `reported` by the provider, or `estimated` by Skein. */
  usage: "skein.usage.source",
  seq: "skein.seq",
} as const;

export const operations = { turn: "invoke_agent", model: "chat", tool: "execute_tool" } as const;

export const metricNames = {
  tokens: { name: "gen_ai.client.token.usage", unit: "{token}" },
  duration: { name: "gen_ai.client.operation.duration", unit: "s" },
  requests: { name: "http.server.request.duration", unit: "s" },
} as const;

/** The buckets of the conventions. */
export const tokenBounds = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
export const durationBounds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
export const requestBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The conventions' names of providers that we abbreviate. */
const providers: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  mistral: "mistral_ai",
  xai: "x_ai",
  bedrock: "aws.bedrock",
};

export const providerName = (provider: string): string => providers[provider] ?? provider;
