/**
 * Checks whether the file of the state store is sound. A child does it before the service opens the file, because a
 * truncated file ends the process that reads it (SIGBUS).
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "../../engine/domain/logger.js";
import { StartError } from "./start-error.js";

/** Exit code of the child: the file is refused. */
export const DAMAGED_EXIT = 3;
/** A file that takes longer and does not end the child is accepted: a full check must not keep the service down. */
const CHECK_MS = 20_000;
const MESSAGE_CHARS_MAX = 200;

/** Rejects with StartError where the file is damaged; a folder without one, or a child that cannot run, passes. */
export async function checkStateFile(
  directory: string,
  logger: Logger,
  childPath = fileURLToPath(new URL("./state-check.child.js", import.meta.url)),
  timeoutMs = CHECK_MS,
): Promise<void> {
  const file = join(directory, "data.mdb");
  if (!existsSync(file)) return;
  const end = await endOf(childPath, directory, timeoutMs);
  if (end.kind === "late") logger.warn("store.check_unfinished", { timeoutMs });
  if (end.kind === "failed") logger.warn("store.check_failed");
  if (end.kind === "damaged")
    throw new StartError([
      `the state file ${file} is damaged (${end.reason}): put back a copy of the folder, or move data.mdb and lock.mdb away to start without it. ` +
        "What it remembers is lost then: check open orders at the venues, and do not use Idempotency-Keys again",
    ]);
}

type CheckEnd = { readonly kind: "sound" | "late" | "failed" } | { readonly kind: "damaged"; readonly reason: string };

function endOf(childPath: string, directory: string, timeoutMs: number): Promise<CheckEnd> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [childPath, directory], {
      env: { PATH: process.env.PATH ?? "" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text = `${text}${chunk.toString("utf8")}`.slice(0, MESSAGE_CHARS_MAX);
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.on("error", () => {
      clearTimeout(timer);
      resolve({ kind: "failed" });
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (isLate) resolve({ kind: "late" });
      else if (code === 0) resolve({ kind: "sound" });
      else if (signal !== null) resolve({ kind: "damaged", reason: `reading it ended with ${signal}` });
      else if (code === DAMAGED_EXIT) resolve({ kind: "damaged", reason: text.replace(/[^\x20-\x7e]+/g, " ").trim() });
      else resolve({ kind: "failed" });
    });
  });
}
