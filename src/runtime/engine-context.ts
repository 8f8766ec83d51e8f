/** What the handles of one engine share. */
import type { SessionId } from "../core/ids.ts";
import type { Models } from "../model/port.ts";
import type { Store } from "../store/port.ts";
import type { ToolSource } from "../tool/port.ts";
import type { Signer } from "./bundle.ts";
import type { EventCache } from "./context-reader.ts";
import type { NeedScope } from "./govern/rules.ts";
import type { Live } from "./live.ts";
import type { MemoryReader } from "./memory.ts";
import type { Runs } from "./running.ts";
import type { StateReader } from "./state-reader.ts";
import type { TokenReader } from "./token-reader.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { World } from "./world.ts";
import type { Writer } from "./writer.ts";

export type OpenStore = (place: string, options?: { readonly create?: boolean }) => Promise<Store>;

export interface Context {
  readonly store: Store;
  readonly world: World;
  readonly tenant: string;
  readonly states: StateReader;
  readonly writer: Writer;
  readonly actor: string;
  /** Who this process is, to whoever finds a session taken. */
  readonly holder: string;
  readonly leaseMs: number | undefined;
  /** Loaded when first needed. Absent: this engine runs nothing. */
  readonly models: (() => Promise<Models>) | undefined;
  readonly tools: (() => Promise<ToolSource>) | undefined;
  /** Opens another store, made if it is not there unless `create` is false. */
  readonly openStore: OpenStore | undefined;
  /** Where this store is, as others would open it; undefined when nobody else can. */
  readonly place: string | undefined;
  /** The key that lists of heads are signed with; absent, or null: they are not signed. */
  readonly signer: (() => Signer | null) | undefined;
  readonly tokenizer: Tokenizer;
  readonly cache: EventCache;
  readonly memory: MemoryReader;
  readonly tokens: TokenReader;
  readonly live: Live;
  readonly runs: Runs;
  /** The id of a session that this call makes, where it follows from the caller's key; see asked.ts. */
  readonly newSession?: () => SessionId;
  /** The caller's key, as a record bears it: what this call writes to the workspace's log has it. */
  readonly once?: string;
  /** Throws unless whoever called has the scope; absent where the caller has every right. */
  readonly need?: NeedScope | undefined;
}
