/**
 * The environment of this process, read once: secrets leave it, so that neither a child process nor a later look at it
 * has them.
 */
import type { Option } from "./config-option.js";
import { ALL_OPTIONS } from "./config-options.js";
import type { Environment } from "./config-reading.js";

const SECRET_NAMES = Object.entries<Option>(ALL_OPTIONS)
  .filter(([, { kind, mayHoldKeys }]) => kind === "secret" || mayHoldKeys === true)
  .map(([name]) => name);

/** Returns what `environment` had, and deletes its secrets there. */
export function takeEnvironment(environment: NodeJS.ProcessEnv): Environment {
  const taken = { ...environment };
  for (const name of SECRET_NAMES) delete environment[name];
  return taken;
}
