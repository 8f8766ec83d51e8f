/** Every limit of Skein in one place, each with its unit. Tests probe both sides of each. */

export const limit = {
  /** Structural JSON of a record. Larger data goes into the content. */
  bodyBytesMax: 4_096,
  /** One content: text of people, models and tools. Larger data goes into blobs. */
  contentBytesMax: 1_048_576,
  /** A larger content is stored as a blob, and the record carries the reference. */
  contentInlineBytesMax: 65_536,
  /** Nesting of stored JSON. */
  jsonDepthMax: 64,
  /** Records in one append, over all its logs. */
  appendRecordsMax: 1_000,
  /** Logs in one append. */
  appendLogsMax: 100,
  /** Contents erased by one append; more take several appends. */
  eraseRecordsMax: 500,
  /** One blob, and one chunk of it. */
  blobBytesMax: 1_073_741_824,
  blobChunkBytesMax: 262_144,
  /** A frame of a bundle, unpacked. The longest record fits in any encoding. */
  bundleFrameBytesMax: 8_388_608,
  /** Names of sessions. */
  nameCharsMax: 200,
  objectiveCharsMax: 20_000,
  /** One entry of a project's journal. */
  noteCharsMax: 20_000,
  /** Items of its project that a session starts with. */
  projectTokensMax: 4_000,
  /** The end of its project's journal that a session starts with. */
  journalTokensMax: 2_000,
  /** The value of one of them. */
  projectItemTokensMax: 2_000,
  /** Rules of one folder that are loaded as instructions. */
  instructionRulesMax: 100,
  /** The instructions of an agent. */
  instructionsCharsMax: 200_000,
  reasonCharsMax: 2_000,
  /** Keys of items and scratch, names of checkpoints, bindings, triggers, contracts. */
  keyCharsMax: 200,
  /** The idempotency key of an append. */
  idempotencyKeyCharsMax: 200,
  labelsMax: 20,
  labelKeyCharsMax: 64,
  labelValueCharsMax: 100,
  /** A document loaded at the start of a session: AGENTS.md, an initial file; and its content in a record. */
  documentBytesMax: 16_777_216,
  documentContentBytesMax: 33_554_432,
  /** A file that a person wrote for a command: an agent, a policy. */
  definitionBytesMax: 524_288,
  itemsMax: 10_000,
  /** What speaks for a hypothesis or a finding. */
  evidenceMax: 20,
  evidenceCharsMax: 1_000,
  /** Kinds that an agent declares, and the JSON of all their schemas. */
  kindsMax: 20,
  kindsBytesMax: 32_768,
  scratchMax: 1_000,
  checkpointsMax: 1_000,
  scoresMax: 1_000,
  bindingsMax: 100,
  permissionsMax: 200,
  approvalsMax: 1_000,
  holdsMax: 100,
  /** Triggers of one session, and of one workspace. */
  triggersMax: 100,
  templatesMax: 1_000,
  /** Sessions that one trigger waits for. */
  awaitedMax: 100,
  /** Nesting of sessions that sessions opened. */
  childDepthMax: 8,
  /** Sessions searched for a cycle before a session waits for others. */
  awaitedWalkMax: 10_000,
  /** The largest clock skew to the store at which sessions are still deleted by age. */
  clockSkewMsMax: 120_000,
  /** The timeout of a check, and the size of its output. */
  checkMs: 30_000,
  checkBytesMax: 1_048_576,
  /** Accept checks of one session, each text of one, and the output that is kept. */
  acceptsMax: 20,
  /** Alternatives of one exploration. */
  alternativesMax: 8,
  acceptCharsMax: 4_000,
  acceptOutputCharsMax: 16_384,
  /** The time limit of a command that is an accept check: by default, and at most. */
  acceptMsDefault: 600_000,
  acceptMsMax: 1_800_000,
  /** Missed times that a trigger makes up for one by one; earlier ones are merged into one. */
  missedMax: 1_000,
  /** The body of one webhook call. */
  webhookBytesMax: 65_536,
  /** Files that one trigger watches, and the largest of them. */
  watchedFilesMax: 20_000,
  watchedBytesMax: 67_108_864,
  /** Sessions that one worker runs at once. */
  concurrencyMax: 1_000,
  /** Each text that the offline model reads: its grammar takes quadratic time. */
  offlineCharsMax: 8_192,
  /** Tickets of one plan, and the length of a ticket's name. */
  ticketsMax: 1_000,
  ticketIdCharsMax: 40,
  ticketTitleCharsMax: 500,
  /** Tickets that a session proposes at once, and that it reads at once. */
  ticketsProposedMax: 50,
  ticketsReadMax: 50,
  /** Tickets that one ticket of a project waits for. */
  ticketAfterMax: 50,
  /** Agents that a project names. */
  projectAgentsMax: 20,
  /** Topics with a contract in one session, and the size of one schema. */
  contractsMax: 100,
  contractBytesMax: 32_768,
  /** The processor time to validate one message against a contract; a slower message is rejected. */
  contractMs: 100,
  /** Queued inputs of an inbox; a full inbox rejects messages from sessions. */
  inboxMax: 1_000,
  /** Queued inputs that go over to the session that continues one. */
  successionInputsMax: 400,
  /** Items, and inputs, that one session takes along from another when a task is split off. */
  splitItemsMax: 200,
  splitInputsMax: 50,
  /** Steps that a session makes before its agent's zones may roll it over: each of a chain gets work done. */
  rolloverStepsMin: 5,
  /** Sessions that are followed, one by one, to the newest of a chain whose first session is gone. */
  successionHopsMax: 1_000,
  /** Queued messages to other stores; a full outbox rejects more. */
  outboxMax: 1_000,
  /** Requests that wait for a reply, sent or received. */
  requestsMax: 1_000,
  /** Tokens of a handoff. */
  handoffTokensMax: 4_000,
  /** Memory entries of one workspace, and the tokens of memory that one session carries. */
  memoryMax: 20_000,
  memoryTokensMax: 2_000,
  /** How often workers may consolidate memory. */
  consolidationMsMin: 3_600_000,
  /** Proposed memory entries that wait for approval: of one workspace, and of one session. */
  memoryPendingMax: 2_000,
  memoryPendingOfSessionMax: 500,
  /** Policies of one workspace. */
  policiesMax: 100,
  /** Valid tokens of one workspace. */
  tokensMax: 1_000,
  /** Requests with one token: per second, and concurrently. */
  requestsPerSecond: 200,
  requestBurst: 400,
  /** The highest rate limit that a token can have. */
  tokenRequestsPerSecondMax: 100_000,
  /** Requests without a valid token, from one address. */
  strangersPerSecond: 20,
  strangersBurst: 100,
  /** The lifetime of a console login. */
  loginMs: 604_800_000,
  /** Tenants that one server holds open, and the idle time after which it closes one. */
  tenantsOpenMax: 100,
  tenantIdleMs: 600_000,
  /** Registered secrets, and the length of the shortest. */
  secretsMax: 1_000,
  secretCharsMin: 8,
  /** Inputs that one turn or step consumes; the rest waits for the next. */
  takenMax: 150,
  /** 0 is the most urgent. */
  priorityMax: 9,
  /** Parts of the log that one input brings into the context. */
  retrievedMax: 10,
  forkDepthMax: 10_000,
  /** Messages shown of each side of a diff. */
  diffSaidMax: 1_000,
  /** Sessions of one family that are shown at once. */
  lineageMax: 1_000,
  /** Events and bytes of one page from a store. */
  pageRecordsMax: 1_000,
  pageBytesMax: 4_194_304,
  /** Contents of a state, of items or of a context, which are returned whole or not at all. */
  wholeBytesMax: 134_217_728,
  /** Sessions of one page of the index. */
  listMax: 500,
  /** Hits of one search. */
  searchMax: 200,
  queryRowsMax: 10_000,
  /** The result of one query, and a single value in it. */
  queryBytesMax: 16_777_216,
  /** The memory of a query's process, if it has its own. */
  queryMemoryBytesMax: 536_870_912,
  queryMs: 30_000,
  queryCharsMax: 10_000,
  /** The words of a lookup by a model, and its pages. */
  lookupCharsMax: 1_000,
  lookupPagesMax: 10,
  /** Concurrent and queued queries of one store; each caller gets a quarter of them. */
  queriesMax: 2,
  queriesWaitingMax: 32,
  /**
   * One request to a server: its headers, URL and body; and the time to receive it, or that many bytes of it.
   */
  requestHeaderBytesMax: 16_384,
  requestTargetCharsMax: 8_192,
  requestPathCharsMax: 2_048,
  requestBodyBytesMax: 2_097_152,
  requestMs: 30_000,
  uploadPaceBytes: 65_536,
  /**
   * Blob uploads: the memory of one before it spills to a temporary file, the memory of all, the disk space
   * of all.
   */
  uploadHeldBytesMax: 1_048_576,
  uploadsHeldBytesMax: 67_108_864,
  uploadsSpoolBytesMax: 8_589_934_592,
  /** The server closes a response that the client does not read for this long. */
  unreadMs: 120_000,
  /** Connections of one server. */
  connectionsMax: 10_000,
  /** Cached responses for requests with the same idempotency key. */
  keptAnswersMax: 10_000,
  keptAnswerBytesMax: 65_536,
  /** The interval of keep-alive comments on an idle stream. */
  streamBeatMs: 15_000,
  /** Deltas that wait for the event before them; beyond that, the rest of the answer is not streamed live. */
  waitingDeltasMax: 1_000,
  /** The part of a running answer that is cached for servers that subscribe late. */
  liveAnswerCharsMax: 1_048_576,
  /** Sessions, and other servers, whose deltas a server relays at once. */
  relaysMax: 1_000,
  /** Spans queued for a collector, beyond which the oldest are dropped; and the spans of one batch. */
  telemetrySpansMax: 10_000,
  telemetryBatchMax: 500,
  /** Models with separate cost metrics, and open or lost calls that a server tracks for them. */
  meteredModelsMax: 1_000,
  meteredCallsMax: 10_000,
  /** Webhooks of one workspace, the URL of one, the timeout of a call, and how long it is retried. */
  hooksMax: 50,
  hookUrlCharsMax: 2_000,
  hookMs: 10_000,
  hookRetryMs: 86_400_000,
  /** The interval at which a worker lists the heads of changed logs. */
  headsEveryMs: 600_000,
  /** The part of a tool's output that the model sees; the rest is stored, and can be recalled. */
  toolOutputCharsMax: 32_768,
  /** Structured detail of a tool result in the record, as JSON; more becomes a blob. */
  toolDetailBytesMax: 262_144,
  /** Images of one tool result; the rest is left out. */
  toolImagesMax: 100,
  /**
   * An image of a tool that is sent to the model. Providers reject larger ones, and the request with them.
   */
  toolImageBytesMax: 3_932_160,
  /** One answer of a model as JSON: its texts, its provider metadata, the arguments of one call. */
  answerTextBytesMax: 655_360,
  answerMetadataBytesMax: 262_144,
  callInputBytesMax: 917_504,
  /** Resources of one sandboxed command: processes, their total memory, its private /tmp. */
  sandboxProcessesMax: 256,
  sandboxMemoryBytesMax: 2_147_483_648,
  sandboxTmpBytesMax: 268_435_456,
  /** Model calls of one step before the session is suspended. */
  attemptsMax: 6,
  /** The longest retry delay of a provider that Skein waits for; beyond it the session is suspended. */
  retryAfterMsMax: 600_000,
  /** A stream that is silent for this long counts as dropped. */
  modelSilenceMs: 600_000,
  /** Bounds of unseen output: how fast a model generates, and how late a provider notices an interrupt. */
  outputTokensPerSecondMax: 1_000,
  interruptNoticedMs: 1_000,
  /** By how much a provider's count of streamed tokens may exceed Skein's. */
  countErrorPercentMax: 50,
  /** Characters kept of an interrupted answer. */
  partialCharsMax: 600_000,
  /** Tool calls of one answer; the rest is dropped. */
  callsMax: 100,
  /** How long closing an engine waits for a step in progress. */
  closeGraceMs: 30_000,
  /** With less room than this for an answer, a budget counts as exhausted. */
  outputTokensMin: 64,
  leaseMsMin: 1_000,
  leaseMsMax: 3_600_000,
  /** How long a writer waits for another program's lock. */
  lockWaitMs: 10_000,
  /** How often one change is decided again after a conflict. */
  conflictRetriesMax: 1_000,
  /** Retries of an append whose result was lost. */
  unknownRetriesMax: 12,
} as const;
