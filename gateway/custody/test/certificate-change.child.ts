/**
 * Child program of certificate-change.test.ts: makes (argv[3] `make`) or takes up (`use`) the next certificate of the
 * folder argv[2], and is killed before its argv[4]th act on a file; prints `done` where it has fewer.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { makeNextCertificate, useNextCertificate } from "../certificate-change.js";
import { filesOf } from "../party-config.js";

const [, , directory = "", act = "", killedBefore = "0"] = process.argv;
let acts = 0;

/** Named imports of it see what stands here. */
for (const name of ["openSync", "writeSync", "fsyncSync", "renameSync", "rmSync"] as const) {
  const plain = fs[name] as (...args: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      if (acts++ === Number(killedBefore)) process.kill(process.pid, "SIGKILL");
      return plain(...args);
    },
  });
}
syncBuiltinESMExports();

if (act === "make") makeNextCertificate(filesOf(directory), 0);
else useNextCertificate(filesOf(directory));
fs.writeFileSync(1, "done\n");
