/**
 * Where the admin socket is, and what may be there before it: nothing, or the socket of a process that is gone. A file
 * that is no socket is never removed, nor a socket that somebody answers.
 */
import { lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { relative, resolve } from "node:path";

export const SOCKET_NAME = "admin.sock";
/** `sun_path` of Linux holds 108 bytes with the closing NUL; libuv would cut a longer path. */
export const SOCKET_PATH_BYTES_MAX = 107;
/** A process that is alive accepts at once: the kernel queues the connection. */
const PROBE_MS = 2_000;

export type SocketPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly problem: string };

/** `configured` is ADMIN_SOCKET, "" for the place in `dataDir`. Absolute where that fits, else relative to `cwd`. */
export function socketPath(dataDir: string, configured: string, cwd = process.cwd()): SocketPath {
  const whole = configured === "" ? resolve(cwd, dataDir, SOCKET_NAME) : resolve(cwd, configured);
  const path = [whole, relative(cwd, whole)].find((one) => Buffer.byteLength(one) <= SOCKET_PATH_BYTES_MAX);
  if (path !== undefined) return { ok: true, path };
  return {
    ok: false,
    problem: `the admin socket ${whole} has a path of ${Buffer.byteLength(whole)} bytes, and a Unix socket takes ${SOCKET_PATH_BYTES_MAX}: set ADMIN_SOCKET to a shorter path, or use a shorter DATA_DIR`,
  };
}

/** `in-use`: somebody answers there. `foreign`: something that is no socket, or that cannot be looked at. */
export type SocketState = "free" | "stale" | "in-use" | "foreign";

export async function socketState(path: string): Promise<SocketState> {
  try {
    if (!lstatSync(path).isSocket()) return "foreign";
  } catch (error) {
    return codeOf(error) === "ENOENT" ? "free" : "foreign";
  }
  const code = await connectOutcome(path);
  if (code === "ECONNREFUSED") return "stale";
  return code === "ENOENT" ? "free" : "in-use";
}

/** Makes the place free; returns the problem where it may not. */
export async function clearSocketPath(path: string): Promise<string | null> {
  const state = await socketState(path);
  if (state === "in-use") return `another process answers on the admin socket ${path}`;
  if (state === "foreign") return `${path} is no socket of ours: move it away, or set ADMIN_SOCKET`;
  if (state === "stale") removeQuietly(path);
  return null;
}

export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone already.
  }
}

/** "" where somebody accepted; anything but a plain refusal counts as alive. */
function connectOutcome(path: string): Promise<string> {
  return new Promise((settle) => {
    const socket = connect(path);
    const end = (code: string) => {
      socket.destroy();
      settle(code);
    };
    socket.setTimeout(PROBE_MS, () => end("ETIMEDOUT"));
    socket.once("connect", () => end(""));
    socket.once("error", (error) => end(codeOf(error)));
  });
}

export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "UNKNOWN";
}
