/**
 * The part of the configuration that the CLI needs: where the store and its socket are, and the keys that seal it. What
 * else is wrong with the configuration does not keep an operator from revoking a key.
 */
import { type AccessConfig, authModeOf, readKek } from "./config-access.js";
import { readValues } from "./config.js";
import type { Environment } from "./config-reading.js";
import { type Machine, systemMachine } from "./machine.js";

export interface AdminConfig extends Pick<AccessConfig, "authMode" | "kek" | "formerKek" | "adminSocket"> {
  readonly dataDir: string;
}

export type AdminConfigResult =
  | {
      readonly ok: true;
      readonly config: AdminConfig /** Of the keys: they count when the store is opened. */;
      readonly keyProblems: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[] };

const NEEDED =
  /^(?:DATA_DIR|ADMIN_SOCKET|AUTH_MODE|KEK_[A-Z_]+|UNWIND_CONFIG|UNWIND_PROFILE)\b|is not valid JSON|must hold one/;

export function readAdminConfig(
  environment: Environment,
  readFile: (path: string) => string | null,
  machine: Machine = systemMachine,
): AdminConfigResult {
  const found: string[] = [];
  const { profile, values } = readValues(environment, readFile, found);
  const problems = found.filter((problem) => NEEDED.test(problem));
  if (problems.length > 0) return { ok: false, problems };
  const keyProblems: string[] = [];
  const kek = readKek(values, "KEK_", machine, keyProblems);
  const formerKek = readKek(values, "KEK_FORMER_", machine, keyProblems);
  return {
    ok: true,
    config: {
      dataDir: values.DATA_DIR,
      adminSocket: values.ADMIN_SOCKET,
      // Keys are for a service that asks for them, whatever the profile of this process.
      authMode: authModeOf(values, environment["UNWIND_PROFILE"] === undefined ? "serve" : profile),
      kek,
      formerKek,
    },
    keyProblems,
  };
}
