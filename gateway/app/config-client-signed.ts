/**
 * The client-signed venue: its options are those of its room (descriptor.ts). Invariant: no problem quotes the URL of an
 * endpoint, which may contain a key.
 */
import {
  nameOfOption,
  readVenuefive,
  VENUEFIVE_OPTIONS,
  type VenuefiveConfig,
  type VenuefiveValues,
} from "../../feeds/venuefive/descriptor.js";
import type { Option } from "./config-option.js";
import { isSafeUrl } from "./config-urls.js";

type OptionName = keyof typeof VENUEFIVE_OPTIONS;

const NAMES = Object.keys(VENUEFIVE_OPTIONS) as OptionName[];

/** By environment name. */
export const CLIENT_SIGNED_OPTIONS: Readonly<Record<string, Option>> = Object.fromEntries(
  NAMES.map((name) => [nameOfOption(name), VENUEFIVE_OPTIONS[name]]),
);

/** Null: it is not run. `mustBeSafe`: endpoints of other machines are to be https. */
export function readClientSigned(
  values: Readonly<Record<string, unknown>>,
  mustBeSafe: boolean,
  problems: string[],
): VenuefiveConfig | null {
  const own = Object.fromEntries(NAMES.map((name) => [name, values[nameOfOption(name)]])) as unknown as VenuefiveValues;
  const config = readVenuefive(own, problems);
  if (config === null || !mustBeSafe) return config;
  for (const [index, url] of config.rpcUrls.entries())
    if (URL.canParse(url) && !isSafeUrl(url))
      problems.push(`${nameOfOption("RPC_URLS")}: endpoint ${index + 1} must be https unless it is on this machine`);
  return config;
}
