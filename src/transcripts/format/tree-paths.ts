/** Paths through a tree of records: the one to the leaf, and what every other leaf adds to it. */

export interface TreeNode {
  readonly id: string;
  readonly parent: string | null;
}

export interface NodePath<Node extends TreeNode> {
  readonly nodes: readonly Node[];
  /** The node that this path leaves the others at; null for a root. */
  readonly after: string | null;
}

/** `nodes` come in file order, parents before children. A parent that is missing is counted as a gap. */
export function treePaths<Node extends TreeNode>(
  nodes: ReadonlyMap<string, Node>,
  leaf: string | null,
): { readonly main: readonly Node[]; readonly branches: readonly NodePath<Node>[]; readonly gaps: number } {
  const parents = new Set<string>();
  let gaps = 0;
  for (const { parent } of nodes.values()) {
    if (parent !== null) parents.add(parent);
    if (parent !== null && !nodes.has(parent)) gaps += 1;
  }
  const taken = new Set<string>();
  const climb = (from: string | null): NodePath<Node> => {
    const found: Node[] = [];
    let node = from === null ? undefined : nodes.get(from);
    while (node !== undefined && !taken.has(node.id)) {
      taken.add(node.id);
      found.push(node);
      node = node.parent === null ? undefined : nodes.get(node.parent);
    }
    return { nodes: found.toReversed(), after: node?.id ?? null };
  };
  const leaves = [...nodes.keys()].filter((id) => !parents.has(id));
  const chosen =
    leaf !== null && nodes.has(leaf) ? leaf : (leaves.at(-1) ?? [...nodes.keys()].at(-1) ?? null);
  const main = climb(chosen).nodes;
  const branches = leaves.map(climb).filter((path) => path.nodes.length > 0);
  // No leaf leads to records whose links go round.
  for (const id of [...nodes.keys()].toReversed()) {
    if (taken.has(id)) continue;
    gaps += 1;
    branches.push(climb(id));
  }
  return { main, branches, gaps };
}

/** The entry of a node, or of the nearest node above it that has one. */
export function entryAbove(
  nodes: ReadonlyMap<string, TreeNode>,
  from: string | null,
  entryOf: ReadonlyMap<string, string>,
): string | null {
  const seen = new Set<string>();
  let at = from;
  while (at !== null && !seen.has(at)) {
    const entry = entryOf.get(at);
    if (entry !== undefined) return entry;
    seen.add(at);
    at = nodes.get(at)?.parent ?? null;
  }
  return null;
}
