/** Every limit of Skein in one place, each with its unit. Tests stand at the edge of each. */

export const limit = {
  /** Structural JSON of a record. Larger things are contents. */
  bodyBytesMax: 4_096,
  /** What people, models and tools said, in one record. Larger things are blobs. */
  contentBytesMax: 1_048_576,
  /** Content above this is kept as a blob, and the record carries the reference. */
  contentInlineBytesMax: 65_536,
  /** Nesting of any JSON that is stored. */
  jsonDepthMax: 64,
  /** Records in one append, over all its logs. */
  appendRecordsMax: 1_000,
  /** Logs in one append. */
  appendLogsMax: 100,
  /** Contents that are erased with one append; more takes several. */
  eraseRecordsMax: 500,
  /** One blob, and one chunk of it. */
  blobBytesMax: 1_073_741_824,
  blobChunkBytesMax: 262_144,
  /** A frame of a bundle, unpacked. The longest record fits, however it is spelled. */
  bundleFrameBytesMax: 8_388_608,
  /** Names of sessions. */
  nameCharsMax: 200,
  objectiveCharsMax: 20_000,
  /** What an agent is told about itself. */
  instructionsCharsMax: 200_000,
  reasonCharsMax: 2_000,
  /** Keys of items and scratch, names of checkpoints, bindings, triggers, contracts. */
  keyCharsMax: 200,
  /** The key by which a caller makes an append idempotent. */
  idempotencyKeyCharsMax: 200,
  labelsMax: 20,
  labelKeyCharsMax: 64,
  labelValueCharsMax: 100,
  /** A document that a session starts with: AGENTS.md, an initial file. */
  documentBytesMax: 524_288,
  itemsMax: 10_000,
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
  /** Sessions that were opened by sessions, one below the other. */
  childDepthMax: 8,
  /** Sessions looked at for a circle when one is to wait for others. */
  awaitedWalkMax: 10_000,
  /** How far this machine's clock may be from the store's before nothing is deleted by age any more. */
  clockSkewMsMax: 120_000,
  /** How long a check may take, and what it may give. */
  checkMs: 30_000,
  checkBytesMax: 1_048_576,
  /** Times that a trigger makes up for one by one; of more, the earlier ones count as one. */
  missedMax: 1_000,
  /** What may be sent with one call of a webhook. */
  webhookBytesMax: 65_536,
  /** Files that one trigger watches, and the largest of them. */
  watchedFilesMax: 20_000,
  watchedBytesMax: 67_108_864,
  /** Sessions that one worker runs at once. */
  concurrencyMax: 1_000,
  /** Of each text that the offline model reads: its grammar takes quadratic time. */
  offlineCharsMax: 8_192,
  /** Tickets of one plan, and what one is called. */
  ticketsMax: 1_000,
  ticketIdCharsMax: 40,
  ticketTitleCharsMax: 500,
  /** Topics for which a session declares a contract, and one schema of them. */
  contractsMax: 100,
  contractBytesMax: 32_768,
  /** The time to validate one message against a contract; a message that takes longer is refused. */
  contractMs: 100,
  /** Inputs that may wait in an inbox; past that it takes no more messages from sessions. */
  inboxMax: 1_000,
  /** Messages to other stores that may wait to be delivered; past that the session sends no more there. */
  outboxMax: 1_000,
  /** Requests that wait for a reply, sent or received. */
  requestsMax: 1_000,
  /** What a handoff may hold, counted in tokens. */
  handoffTokensMax: 4_000,
  /** What is remembered in one workspace, and what one session carries of it, counted in tokens. */
  memoryMax: 20_000,
  memoryTokensMax: 2_000,
  /** Policies of one workspace. */
  policiesMax: 100,
  /** Tokens of one workspace that hold. */
  tokensMax: 1_000,
  /** Requests that come with one token, in a second and at once. */
  requestsPerSecond: 200,
  requestBurst: 400,
  /** Requests without a token that holds, from one address. */
  strangersPerSecond: 20,
  strangersBurst: 100,
  /** How long a page stays logged in. */
  loginMs: 604_800_000,
  /** Tenants that one server has open at once, and how long one stays so that nobody asks for. */
  tenantsOpenMax: 100,
  tenantIdleMs: 600_000,
  /** Values registered as secret, and the shortest that is one. */
  secretsMax: 1_000,
  secretCharsMin: 8,
  /** Inputs that one turn or step takes up; the rest waits for the next. */
  takenMax: 150,
  /** 0 is the most urgent. */
  priorityMax: 9,
  forkDepthMax: 10_000,
  /** What is shown of all that was said on one side of a difference. */
  diffSaidMax: 1_000,
  /** Sessions of one family that are shown at once. */
  lineageMax: 1_000,
  /** Events and bytes of one page that a store gives out. */
  pageRecordsMax: 1_000,
  pageBytesMax: 4_194_304,
  /** Contents of a state, of items or of a context, which are given whole or not at all. */
  wholeBytesMax: 134_217_728,
  /** Sessions of one page of the index. */
  listMax: 500,
  /** Hits of one search. */
  searchMax: 200,
  queryRowsMax: 10_000,
  /** What one query may give, and any single value in it. */
  queryBytesMax: 16_777_216,
  /** The memory of the process that runs a query, where it is one of its own. */
  queryMemoryBytesMax: 536_870_912,
  queryMs: 30_000,
  queryCharsMax: 10_000,
  /** Queries of one store that a program runs at once, and that wait; of each caller a quarter of them. */
  queriesMax: 2,
  queriesWaitingMax: 32,
  /**
   * One request to a server: its headers, its address, its body; and how long it may take to come in, or of
   * bytes, how long that many may take.
   */
  requestHeaderBytesMax: 16_384,
  requestTargetCharsMax: 8_192,
  requestPathCharsMax: 2_048,
  requestBodyBytesMax: 2_097_152,
  requestMs: 30_000,
  uploadPaceBytes: 65_536,
  /**
   * Blobs on their way in: what one upload holds in memory before it goes to a temporary file, what all hold
   * together, and what all take on disk.
   */
  uploadHeldBytesMax: 1_048_576,
  uploadsHeldBytesMax: 67_108_864,
  uploadsSpoolBytesMax: 8_589_934_592,
  /** An answer of which nothing is taken for so long is broken off. */
  unreadMs: 120_000,
  /** Connections of one server. */
  connectionsMax: 10_000,
  /** Answers that are kept at hand, to be given again to whoever asks with the same key. */
  keptAnswersMax: 10_000,
  keptAnswerBytesMax: 65_536,
  /** How often a stream that has nothing to tell says that it is there. */
  streamBeatMs: 15_000,
  /** Deltas that wait for the event before them; past that the rest of the answer is not heard live. */
  waitingDeltasMax: 1_000,
  /** Of an answer that is being made, kept at hand for servers elsewhere that come to hear it. */
  liveAnswerCharsMax: 1_048_576,
  /** Sessions, and other servers, whose deltas a server fetches from elsewhere at once. */
  relaysMax: 1_000,
  /** Spans that wait for a collector, past which the oldest go; and those that are sent at once. */
  telemetrySpansMax: 10_000,
  telemetryBatchMax: 500,
  /** Models that have cost metrics of their own, and open or lost calls that a server knows for them. */
  meteredModelsMax: 1_000,
  meteredCallsMax: 10_000,
  /** Hooks of one workspace, the address of one, how long a call may take, and how long it is tried. */
  hooksMax: 50,
  hookUrlCharsMax: 2_000,
  hookMs: 10_000,
  hookRetryMs: 86_400_000,
  /** How often a worker lists the heads of the logs that changed. */
  headsEveryMs: 600_000,
  /** What the model sees of one output of a tool; the rest is kept, and can be recalled. */
  toolOutputCharsMax: 32_768,
  /** Structure beside a tool's output that stays in the record, as JSON; more becomes a blob. */
  toolDetailBytesMax: 262_144,
  /** Images of one tool result; the rest is left out. */
  toolImagesMax: 100,
  /** An image of a tool that a model is shown. Providers refuse larger ones, and the request with them. */
  toolImageBytesMax: 3_932_160,
  /** One answer of a model as JSON: its texts, what its provider adds to them, the arguments of one call. */
  answerTextBytesMax: 655_360,
  answerMetadataBytesMax: 262_144,
  callInputBytesMax: 917_504,
  /** What one command in a sandbox may take: processes, memory of all of them, its own /tmp. */
  sandboxProcessesMax: 256,
  sandboxMemoryBytesMax: 2_147_483_648,
  sandboxTmpBytesMax: 268_435_456,
  /** How often a model is asked in one step before the session is suspended. */
  attemptsMax: 6,
  /** The longest that a provider may ask to be left alone before the session is suspended. */
  retryAfterMsMax: 600_000,
  /** A stream that says nothing for so long has been dropped. */
  modelSilenceMs: 600_000,
  /** Bounds of unheard output: how fast a model generates, and how late a provider notices an interrupt. */
  outputTokensPerSecondMax: 1_000,
  interruptNoticedMs: 1_000,
  /** By how much a provider may count more streamed tokens than Skein. */
  countErrorPercentMax: 50,
  /** Characters that are kept of an answer that was interrupted. */
  partialCharsMax: 600_000,
  /** Calls of one answer; the rest is left out. */
  callsMax: 100,
  /** How long a step in progress is waited for when an engine is closed. */
  closeGraceMs: 30_000,
  /** With less room than this for an answer, a budget counts as used up. */
  outputTokensMin: 64,
  leaseMsMin: 1_000,
  leaseMsMax: 3_600_000,
  /** How long a writer waits for a lock that another program holds. */
  lockWaitMs: 10_000,
  /** How often one change is decided again after a conflict. */
  conflictRetriesMax: 1_000,
  /** How often an append whose answer was lost is tried again. */
  unknownRetriesMax: 12,
} as const;
