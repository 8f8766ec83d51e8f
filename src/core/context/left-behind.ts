/** What another model is not shown of a context. */
import type { ContextPart } from "./part.ts";

/** The parts of the former context that the next model cannot be shown. */
export function leftBehind(
  parts: readonly ContextPart[],
  to: { readonly images: boolean },
  from: string | undefined,
): string[] {
  let [reasoning, marks, images] = [0, 0, 0];
  for (const part of parts) {
    if (part.part !== "message") continue;
    for (const block of part.content) {
      if (block.type === "reasoning") reasoning++;
      else if ("metadata" in block && block.metadata !== undefined) marks++;
      if (block.type === "image") images++;
      if (block.type === "tool-result") images += block.images?.length ?? 0;
    }
  }
  const counted = (count: number, one: string, many: string): string[] =>
    count === 0 ? [] : [count === 1 ? `1 ${one}` : `${count} ${many}`];
  const by = from === undefined ? "" : ` by ${from}`;
  return [
    ...counted(
      reasoning,
      `piece of reasoning${by}, with its signature`,
      `pieces of reasoning${by}, with their signatures`,
    ),
    ...counted(marks, `mark of the provider on an answer${by}`, `marks of the provider on answers${by}`),
    ...(to.images
      ? []
      : counted(images, "image, which the model cannot see", "images, which the model cannot see")),
  ];
}
