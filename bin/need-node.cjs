// Preloaded (`node -r`) before a TypeScript entry point. An old Node could not load that entry at all and
// would print a stack trace, so this file says what to do instead. It must run on any Node.
var major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  process.stderr.write(
    "skein needs Node 24 or newer, and this is Node " +
      process.versions.node +
      ": run `npm install` without --ignore-scripts, which brings the right one\n",
  );
  process.exit(1);
}
