/** The login page; the URL keeps the current view. */
import { useState, type ReactNode } from "react";
import { login, why as whyOut } from "./connection.ts";
import { Button } from "./ui/button.tsx";

export function Login(): ReactNode {
  const [why, setWhy] = useState<string | null>(() => whyOut.get());
  const [given, setGiven] = useState("");
  const enter = async (): Promise<void> => {
    const token = /(skn_[\w-]+)/.exec(given)?.[1];
    setWhy(token === undefined ? "Enter a login link or a token: both contain skn_…" : await login(token));
  };
  return (
    <main className="login stack">
      <img src="/icon.svg" alt="" />
      <h1>Log in to Skein</h1>
      <p className="soft">
        Open the login link that <code>npm start</code> or <code>skein serve</code> printed, or paste it here.
        A token from <code>skein tokens add</code> works too.
      </p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <label className="labeled">
          <span>Login link or token</span>
          <input
            className="field mono"
            type="password"
            autoComplete="off"
            required
            value={given}
            onChange={(event) => setGiven(event.target.value)}
          />
        </label>
        {why === null ? null : (
          <p className="trouble" role="alert">
            {why}
          </p>
        )}
        <div className="row">
          <Button kind="main">Log in</Button>
        </div>
      </form>
    </main>
  );
}
