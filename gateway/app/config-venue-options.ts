/** The options of the venue rooms, by environment name: those of their descriptors. */
import { VENUES } from "../../feeds/registry.js";
import type { Option } from "./config-option.js";

export const VENUE_OPTIONS: Readonly<Record<string, Option>> = Object.assign(
  {},
  ...VENUES.map(({ options }) => options),
) as Record<string, Option>;
