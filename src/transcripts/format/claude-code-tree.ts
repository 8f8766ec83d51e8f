/**
 * The tree of a Claude Code file: which records lie on the path to the leaf, which on other branches. It
 * keeps about 80 bytes a record, since a file of a gigabyte has a million of them.
 *
 * A walk from the leaf to the root misses parallel calls: they are siblings, and each result hangs below its
 * own call. The path is completed by all records of its messages and all results of its calls.
 */
import { CallLists, MessageLists } from "./claude-code-calls.ts";
import { IdTable, NumberColumn } from "./id-table.ts";

/** `link`: shown by the tool only, but other records hang below it. */
export const nodeKinds = ["link", "prompt", "result", "answer", "boundary", "summary", "context"] as const;
export type NodeKind = (typeof nodeKinds)[number];

/** A record of the chain, without its content. */
export interface NodeFacts {
  readonly uuid: string;
  /** Undefined: the record has no such field. Null: it is a root. */
  readonly parent: string | null | undefined;
  readonly logicalParent: string | null;
  readonly kind: NodeKind;
  readonly isSidechain: boolean;
  readonly isMeta: boolean;
  readonly session: string;
  /** The API message that this is a part of. */
  readonly message: string | null;
  readonly calls: readonly string[];
  readonly results: readonly string[];
  readonly from: number;
  readonly to: number;
}

const none = -1;
const absent = -2;
const sidechain = 8;
const meta = 16;

export interface TreePath {
  /** Nodes in file order. */
  readonly nodes: Int32Array;
  /** The shared node that this path leaves at; -1 when it shares none. */
  readonly leavesAt: number;
  /** The last node. */
  readonly leaf: number;
}

export class ClaudeTree {
  readonly #ids = new IdTable();
  readonly #nodeOfId = new NumberColumn(Int32Array);
  readonly #idOfNode = new NumberColumn(Int32Array);
  readonly #from = new NumberColumn();
  readonly #bytes = new NumberColumn(Int32Array);
  #parents = new NumberColumn(Int32Array);
  readonly #logical = new Map<number, number>();
  readonly #relinked = new Map<number, number>();
  readonly #flags = new NumberColumn(Uint8Array);
  readonly #sessions = new IdTable();
  #sessionOf = new NumberColumn(Int32Array);
  #messages = new MessageLists();
  readonly calls = new CallLists();
  #marks = new Uint8Array(0);
  #completed = new Uint8Array(0);
  #usesSidechains = false;
  gaps = 0;

  get size(): number {
    return this.#from.length;
  }

  /** False when the record repeats one that the file has already, as after a compaction. */
  add(facts: NodeFacts): boolean {
    const id = this.#idOf(facts.uuid);
    const parent =
      facts.parent === undefined ? absent : facts.parent === null ? none : this.#idOf(facts.parent);
    const known = this.#nodeOfId.at(id);
    if (known !== none) {
      if (parent >= 0) this.#relinked.set(known, parent);
      return false;
    }
    const node = this.size;
    this.#nodeOfId.set(id, node);
    this.#idOfNode.push(id);
    this.#from.push(facts.from);
    this.#bytes.push(facts.to - facts.from);
    this.#parents.push(parent);
    if (facts.logicalParent !== null) this.#logical.set(node, this.#idOf(facts.logicalParent));
    const kind = nodeKinds.indexOf(facts.kind);
    this.#flags.push(kind | (facts.isSidechain ? sidechain : 0) | (facts.isMeta ? meta : 0));
    this.#sessionOf.push(this.#sessions.add(facts.session));
    this.#messages.add(node, facts.message);
    this.calls.add(node, facts.calls, facts.results);
    return true;
  }

  #idOf(uuid: string): number {
    const id = this.#ids.add(uuid);
    if (id === this.#nodeOfId.length) this.#nodeOfId.push(none);
    return id;
  }

  kind(node: number): NodeKind {
    return nodeKinds[this.#flags.at(node) & 7] ?? "link";
  }

  uuid(node: number): string {
    const isNamed = node >= 0 && node < this.size && this.kind(node) !== "link";
    return isNamed ? this.#ids.text(this.#idOfNode.at(node)) : `record ${node}`;
  }

  nodeOf(uuid: string): number {
    const id = this.#ids.get(uuid);
    return id === none ? none : this.#nodeOfId.at(id);
  }

  message(node: number): number {
    return this.#messages.messageOf(node);
  }

  range(node: number): { readonly from: number; readonly to: number } {
    const from = this.#from.at(node);
    return { from, to: from + this.#bytes.at(node) };
  }

  /** How many messages there are: `message` is less. */
  get messages(): number {
    return this.#messages.size;
  }

  #isMeta = (node: number): boolean => (this.#flags.at(node) & meta) !== 0;
  #isSidechain = (node: number): boolean => (this.#flags.at(node) & sidechain) !== 0;
  #isTalk = (node: number): boolean => {
    const kind = this.kind(node);
    return kind === "prompt" || kind === "result" || kind === "answer" || kind === "summary";
  };

  #isMain = (node: number): boolean => this.#usesSidechains || !this.#isSidechain(node);

  /**
   * The session of the file: the one that its name says, or else the one with the most records. Records with
   * the id of another session belong to it, too: a name does not change when the file grows.
   */
  chooseSession(name: string | null): string {
    const counts = new Map<number, number>();
    for (let node = 0; node < this.size; node++) {
      const session = this.#sessionOf.at(node);
      counts.set(session, (counts.get(session) ?? 0) + 1);
    }
    const [most] = [...counts].toSorted((a, b) => b[1] - a[1]).map(([session]) => session);
    let talksOutside = false;
    for (let node = 0; node < this.size && !talksOutside; node++)
      talksOutside = !this.#isSidechain(node) && this.#isTalk(node);
    // The file of a subagent has nothing but sidechain records.
    this.#usesSidechains = !talksOutside;
    return name ?? (most === undefined ? "" : this.#sessions.text(most));
  }

  /** Forgets what only the order needs: ids, kinds, calls and ranges stay. */
  release(): void {
    this.#messages = new MessageLists();
    this.#marks = new Uint8Array(0);
    this.#completed = new Uint8Array(0);
    this.#parents = new NumberColumn(Int32Array);
    this.#sessionOf = new NumberColumn(Int32Array);
  }

  /** The path to the leaf first, then the other branches in file order. */
  paths(): { readonly main: TreePath; readonly branches: readonly TreePath[] } {
    this.#marks = new Uint8Array(this.size);
    this.#completed = new Uint8Array(this.#messages.size);
    this.gaps = 0;
    const leaves = this.#leaves();
    let active = none;
    let tip = none;
    for (const leaf of leaves) {
      const talk = this.#talkAbove(leaf);
      if (talk >= tip && talk !== none) [active, tip] = [leaf, talk];
    }
    const main = this.#collect(active);
    const branches = leaves
      .filter((leaf) => leaf !== active)
      .flatMap((leaf) => {
        const path = this.#collect(leaf);
        const says = path.nodes.some((node) => ["prompt", "answer", "summary"].includes(this.kind(node)));
        return says ? [path] : [];
      });
    const cycles = this.#cycles();
    if (active === none && cycles[0] !== undefined) return { main: cycles[0], branches: cycles.slice(1) };
    return { main, branches: [...branches, ...cycles] };
  }

  /** Records that no leaf leads to: their links go round. */
  #cycles(): TreePath[] {
    const found: TreePath[] = [];
    for (let node = this.size - 1; node >= 0; node--) {
      if (this.#marks[node] !== 0 || !this.#isMain(node) || !this.#isTalk(node)) continue;
      this.gaps += 1;
      found.push(this.#collect(node));
    }
    return found;
  }

  /** Records of subagents that old versions wrote into the session's own file, by their root. */
  sidechains(): readonly TreePath[] {
    if (this.#usesSidechains) return [];
    const groups = new Map<number, number[]>();
    const rootOf = new Int32Array(this.size).fill(none);
    for (let node = 0; node < this.size; node++) {
      if (!this.#isSidechain(node)) continue;
      const parent = this.#nodeAt(this.#parents.at(node));
      const above =
        parent !== none && parent < node && this.#isSidechain(parent) ? (rootOf[parent] ?? none) : none;
      const root = above === none ? node : above;
      rootOf[node] = root;
      const group = groups.get(root);
      if (group === undefined) groups.set(root, [node]);
      else group.push(node);
    }
    return [...groups.values()].flatMap((nodes) =>
      nodes.some(this.#isTalk)
        ? [{ nodes: Int32Array.from(nodes), leavesAt: none, leaf: nodes.at(-1) ?? none }]
        : [],
    );
  }

  #nodeAt = (id: number): number => (id < 0 ? none : this.#nodeOfId.at(id));

  /** Nodes that nothing hangs below. */
  #leaves(): number[] {
    const hasChild = new Uint8Array(this.size);
    for (let node = 0; node < this.size; node++) {
      const above = this.#above(node, false);
      if (above !== none) hasChild[above] = 1;
    }
    const found: number[] = [];
    for (let node = 0; node < this.size; node++)
      if (hasChild[node] === 0 && this.#isMain(node)) found.push(node);
    return found;
  }

  /** The node above: by the link, across a compaction, or by file order where the link leads nowhere. */
  #above(node: number, counts: boolean): number {
    const first = this.#parents.at(node);
    const id = this.#relinked.get(node) ?? (first === none ? (this.#logical.get(node) ?? none) : first);
    if (id === none) return none;
    const parent = this.#nodeAt(id);
    if (parent !== none && parent !== node) return parent;
    if (counts && id !== absent) this.gaps += 1;
    let before = node - 1;
    while (before >= 0 && !this.#isMain(before)) before -= 1;
    return before;
  }

  #talkAbove(leaf: number): number {
    const seen = new Set<number>();
    let node = leaf;
    while (node !== none && !seen.has(node)) {
      if (this.#isTalk(node) && !this.#isMeta(node) && this.#isMain(node)) return node;
      seen.add(node);
      node = this.#above(node, false);
    }
    return none;
  }

  /** Walks up from a leaf to the first marked node, marks the way, and completes messages and results. */
  #collect(leaf: number): TreePath {
    const found = new NumberColumn(Int32Array);
    const mark = (node: number): void => {
      if (this.#marks[node] !== 0 || !this.#isMain(node)) return;
      this.#marks[node] = 1;
      if (this.kind(node) !== "link") found.push(node);
    };
    let node = leaf;
    const walked = new NumberColumn(Int32Array);
    while (node !== none && this.#marks[node] === 0) {
      mark(node);
      this.#marks[node] = 2;
      walked.push(node);
      let next = this.#above(node, true);
      // Messages that a compaction preserved are linked behind it: continue above the first of them.
      for (let steps = 0; next !== none && this.#marks[next] === 2; steps++)
        next = steps > walked.length ? none : this.#nodeAt(this.#parents.at(next));
      node = next;
    }
    for (let at = 0; at < walked.length; at++) this.#marks[walked.at(at)] = 1;
    this.#complete(found, mark);
    return { nodes: found.toInts().toSorted(), leavesAt: node, leaf };
  }

  #complete(found: NumberColumn, mark: (node: number) => void): void {
    // A message that another path has completed has no unmarked record.
    for (let at = 0, end = found.length; at < end; at++) {
      const message = this.#messages.messageOf(found.at(at));
      if (message === none || this.#completed[message] === 1) continue;
      this.#completed[message] = 1;
      for (const one of this.#messages.nodesOf(message)) mark(one);
    }
    for (let at = 0; at < found.length; at++)
      for (const call of this.calls.callsOf(found.at(at)))
        for (const result of this.calls.resultsOf(call)) mark(result);
  }
}
