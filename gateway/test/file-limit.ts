/**
 * A disk that is full for one process: its files end at a size, and a write beyond it fails with EFBIG, which our code
 * takes for a full volume (node ignores the signal). Anybody can set such a limit, and take his own back.
 */
import { spawnSync } from "node:child_process";

/** What a POSIX shell counts file sizes in. */
const BLOCK_BYTES = 512;

/** Returns the command under the limit; the process keeps its pid. */
export function limited(command: readonly string[], bytes: number): readonly string[] {
  return ["sh", "-c", `ulimit -S -f ${Math.floor(bytes / BLOCK_BYTES)}; exec "$0" "$@"`, ...command];
}

/** `bytes` null: there is room again. */
export function limitFiles(pid: number | undefined, bytes: number | null): void {
  const soft = `--fsize=${bytes ?? "unlimited"}:`;
  const { status, stderr } = spawnSync("prlimit", ["--pid", String(pid), soft], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the limit was not set: ${stderr}`);
}
