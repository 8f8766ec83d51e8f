/** Keys that sign bundles, and trusted keys. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { makeKey, ownPublicKey, trustedKeys, trustKey } from "../open/keys.ts";
import { verb } from "../command/verb.ts";

export const keys = verb({
  name: "keys",
  line: "Make the key that signs bundles, show it, or trust another person's key.",
  args: ["WHAT?", "NAME?", "KEY?"],
  options: {},
  about: [
    "The private key is a file that only you can read, key.pem in ~/.config/skein. Give others the " +
      "public key. A bundle names the key that signed it; trust says whose key that is.",
  ],
  examples: [
    "skein keys new  # makes your key",
    "skein keys show  # your public key, and those you trust",
    "skein keys trust ada 3q2-7w…  # bundles signed by it are known as Ada's",
  ],
  async run({ args: { WHAT: what = "show", NAME: name, KEY: key }, out }) {
    const { env } = process;
    if (what === "new") {
      const { path, publicKey } = makeKey(env);
      return out.answer({ path, publicKey }, () => [`made ${path}`, publicKey]);
    }
    if (what === "trust" && name !== undefined && key !== undefined) {
      trustKey(env, name, key);
      return out.answer({ name, publicKey: key }, () => [`${name} is trusted by the key ${key}`]);
    }
    if (what !== "show") {
      throw new SkeinError("invalid", `keys: invalid arguments ${quote(what)}`, {
        hint: "usage: skein keys new, skein keys show, or skein keys trust NAME KEY",
      });
    }
    const own = ownPublicKey(env);
    const trusted = [...trustedKeys(env)].map(([publicKey, owner]) => ({ name: owner, publicKey }));
    return out.answer({ publicKey: own, trusted }, () => [
      own ?? 'you have no key; "skein keys new" makes one',
      ...trusted.map((one) => `${one.publicKey}  ${one.name}`),
    ]);
  },
});
