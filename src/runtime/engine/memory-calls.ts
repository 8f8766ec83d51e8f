/** The engine's calls on the approval queue of memory. */
import { checkCall } from "../../call/check.ts";
import type { Deps } from "../deps.ts";
import type {
  DecideMemoryOptions,
  PendingMemoryOptions,
  PendingMemoryPage,
} from "../workspace/memory-queue.ts";
import type { ConsolidateOptions, ConsolidateReport } from "../workspace/memory-consolidate.ts";
import type { MemoryCarriers, MemoryCarriersOptions } from "../context/memory-carriers.ts";
import type { MemoryReview } from "../workspace/memory-review.ts";
import { nameOf, type MemoryEntry } from "../workspace/memory.ts";
import { ProjectCalls } from "./project-calls.ts";

/** The part of an engine that lists and decides what waits to be remembered. */
export class MemoryCalls extends ProjectCalls {
  readonly #deps: Deps;

  /** @internal */
  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
  }

  /** Memory entries that wait for approval, the oldest first: from turns that took in outside content. */
  async pendingMemory(options: PendingMemoryOptions = {}): Promise<PendingMemoryPage> {
    checkCall("engine.pendingMemory", options);
    return (await import("../workspace/memory-queue.ts")).pendingMemory(this.#deps, options);
  }

  /** Memory entries that say the same or contradict each other, for a person to settle. Changes nothing. */
  async reviewMemory(): Promise<MemoryReview> {
    return (await import("../workspace/memory-review.ts")).reviewMemory(this.#deps);
  }

  /**
   * Merges entries that say the same, expires what its own session has replaced, and marks contradictions for
   * a person. Without `apply` it only reports; `everyMs` lets workers do it.
   */
  async consolidateMemory(options: ConsolidateOptions = {}): Promise<ConsolidateReport> {
    checkCall("engine.consolidateMemory", options);
    return (await import("../workspace/memory-consolidate.ts")).consolidateMemory(this.#deps, options);
  }

  /** The sessions that carry a memory entry, the most recently active first; a page looks at up to 200. */
  async memoryCarriers(options: MemoryCarriersOptions): Promise<MemoryCarriers> {
    checkCall("engine.memoryCarriers", options);
    const name = nameOf("memoryCarriers", this.#deps, options);
    return (await import("../context/memory-carriers.ts")).memoryCarriers(this.#deps, name, options.cursor);
  }

  /** Approves a memory entry that waits: later sessions start with it. */
  async approveMemory(proposal: number, options: DecideMemoryOptions = {}): Promise<MemoryEntry> {
    checkCall("engine.approveMemory", options, { proposal });
    return (await import("../workspace/memory-queue.ts")).approveMemory(this.#deps, proposal, options);
  }

  /** Rejects a memory entry that waits. It is not proposed again. */
  async rejectMemory(proposal: number, options: DecideMemoryOptions = {}): Promise<MemoryEntry> {
    checkCall("engine.rejectMemory", options, { proposal });
    return (await import("../workspace/memory-queue.ts")).rejectMemory(this.#deps, proposal, options);
  }
}
