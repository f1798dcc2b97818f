/** The options of the venue rooms, by environment name: those of their descriptors. */
import { VENUES } from "../../feeds/registry.js";
import { CLIENT_SIGNED_OPTIONS } from "./config-client-signed.js";
import type { Option } from "./config-option.js";

export const VENUE_OPTIONS: Readonly<Record<string, Option>> = Object.assign(
  {},
  ...VENUES.map(({ options }) => options),
  CLIENT_SIGNED_OPTIONS,
) as Record<string, Option>;
