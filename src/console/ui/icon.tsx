/** Icons: lines of one weight, on a grid of 20. They accompany words and are hidden from screen readers. */
import type { ReactNode } from "react";

const lines = {
  sessions: "M3.5 5h13M3.5 10h13M3.5 15h13",
  search: "M13.5 13.5 17 17M8.8 14.6a5.8 5.8 0 1 0 0-11.6 5.8 5.8 0 0 0 0 11.6Z",
  projects: "M3 6V15.500h14V6.500H9.500L8 4.500H3Z",
  agents: "M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM4 17c.6-3 3-4.6 6-4.6s5.400 1.600 6 4.600",
  triggers: "M11 2.500 4.500 11.500H9.500L9 17.500 15.500 8.500H10.500Z",
  workers: "M3.500 4.500h13v4.500h-13ZM3.500 11.500h13V16h-13ZM6.500 6.700h.01M6.500 13.700h.01",
  cost: "M3.500 16.500v-6M8 16.500V4.500M12.500 16.500V8M17 16.500v-3.500",
  memory: "M4 4.500h9.500L16 7v8.500H4ZM7 9.500h6M7 12.500h4",
  more: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  theme: "M10 3.500a6.500 6.500 0 1 0 6.500 6.500A5 5 0 0 1 10 3.500Z",
  command: "M4.500 6.500 8.500 10l-4 3.500M10.500 14.500h5.500",
} as const;

export type IconName = keyof typeof lines;

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg width="18" height="18" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path
        d={lines[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
