/**
 * Refuses a Node that is too old, with one line instead of the first syntax error. The library imports it
 * before anything else. It must run on any Node since 18: the build is emitted as ES2024, which those parse.
 * `process` is the global on purpose: importing from node:process reads every property of it, and opening
 * standard input and output makes their pipes non-blocking.
 */
const needed = 24;
const { versions } = process;

if (Number(versions.node.split(".")[0]) < needed)
  throw new Error(`skein requires Node ${needed} or later; this is Node ${versions.node}`);
