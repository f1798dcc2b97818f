/** The way of the CLI to a co-signer: its own socket, while it runs. Its store is opened by nobody else. */
import { readFileSync } from "node:fs";
import type { Clock } from "../../engine/domain/clock.js";
import { type Admin, AdminUnreachable, connectAdmin } from "../admin/admin-client.js";
import { socketPath } from "../admin/socket-path.js";
import { type CosignerConfig, readPartyConfig } from "../custody/party-config.js";
import { CliFailure, EXIT_UNREACHABLE, EXIT_USAGE } from "./exit-codes.js";

/** Rejects with CliFailure. */
export async function reachCosigner(directory: string, clock: Clock): Promise<Admin> {
  const place = socketPath(readCosigner(directory).dataDirectory, "");
  if (!place.ok) throw new CliFailure(EXIT_USAGE, "CONFIGURATION", place.problem);
  try {
    return await connectAdmin(place.path, clock);
  } catch (error) {
    if (!(error instanceof AdminUnreachable)) throw error;
    const code = error.kind === "none" ? "COSIGNER_NOT_RUNNING" : "COSIGNER_UNREACHABLE";
    const why = error.kind === "none" ? `no co-signer runs on ${directory}: start it first` : error.message;
    throw new CliFailure(EXIT_UNREACHABLE, code, why);
  }
}

function readCosigner(directory: string): CosignerConfig {
  const read = readPartyConfig(directory, "cosigner", textOf);
  if (!read.ok) throw new CliFailure(EXIT_USAGE, "CONFIGURATION", read.problems.join("; "));
  const { cosigner } = read.config;
  if (cosigner === null) throw new CliFailure(EXIT_USAGE, "CONFIGURATION", "the folder is not the co-signer's");
  return cosigner;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The problem names the path.
    return null;
  }
}
