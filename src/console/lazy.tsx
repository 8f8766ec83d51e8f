/** Views and dialogs whose code is loaded when they are first shown, or before that while the page rests. */
import { Component, lazy, Suspense, type ComponentType, type ReactNode } from "react";

type Load = () => Promise<unknown>;

const loads: Load[] = [];

/** A component whose module is loaded at its first use. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  loads.push(load);
  const Loaded = lazy(async () => ({ default: await load() })) as unknown as ComponentType<P>;
  return (props) => (
    <Part>
      <Suspense fallback={<Loading />}>
        <Loaded {...props} />
      </Suspense>
    </Part>
  );
}

/** Loads every part, one after the other: later a view is shown at once, also while the server is away. */
export async function loadParts(): Promise<void> {
  for (const load of loads) await load().catch(() => undefined);
}

const Loading = (): ReactNode => (
  <p className="waiting" role="status">
    Loading…
  </p>
);

/** A server of another version has other files: only the whole page can be loaded again. */
class Part extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const text = error instanceof Error ? error.message : "an unknown error";
    return (
      <div className="trouble" role="alert">
        <p className="said">This part of the page could not be shown: {text}</p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    );
  }
}
