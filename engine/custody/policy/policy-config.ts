/**
 * The policy file: strict JSON (strict-json.ts), format 1. docs/custody.md describes it for operators. A file with any
 * problem is refused as a whole: half a policy is another policy.
 */
import { parseStrictJson } from "../digest/strict-json.js";
import { isStructName } from "../digest/typed-data-types.js";
import { readVenueAmount } from "./amounts.js";
import { TOKEN_METHOD_NAMES } from "./calldata.js";
import { ConfigObject, type ConfigProblem, Problems, readDestinations, readLimits } from "./config-reader.js";
import { MESSAGE_KINDS } from "./message-kind.js";
import { readMethods } from "./method-config.js";
import { PERMIT_KINDS } from "./permits.js";
import {
  type ContractRule,
  DEFAULT_POLICY,
  NO_DESTINATIONS,
  type OriginRules,
  type PermitRule,
  type Policy,
  type TokenRule,
  type TypedDataRule,
  type VenueRule,
} from "./policy.js";
import type { VenueActs } from "./venue-acts.js";

const FORMAT = 1;
const MAX_FILE_BYTES = 1_048_576;
const MAX_FILE_DEPTH = 16;

export type PolicyConfig =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** `acts`: what venues have signed, which rules may name. */
export function readPolicyConfig(file: Uint8Array, acts: VenueActs): PolicyConfig {
  if (file.length > MAX_FILE_BYTES) return failed([{ path: "", problem: `larger than ${MAX_FILE_BYTES} bytes` }]);
  const parsed = parseStrictJson(file, MAX_FILE_DEPTH);
  if (!parsed.ok) return failed([{ path: "", problem: parsed.problem }]);
  const problems = new Problems();
  const root = new ConfigObject(parsed.value, "", problems);
  if (root.take("format") !== FORMAT) root.report("format", `must be ${FORMAT}`);
  const policy: Policy = {
    caller: readOrigin(root, "callers", DEFAULT_POLICY.caller, acts),
    service: readOrigin(root, "service", DEFAULT_POLICY.service, acts),
  };
  root.end();
  return problems.list.length === 0 ? { ok: true, policy } : failed(problems.list);
}

function failed(problems: readonly ConfigProblem[]): PolicyConfig {
  return { ok: false, problems };
}

/** What the file leaves out is as without a file. */
function readOrigin(root: ConfigObject, name: string, absent: OriginRules, acts: VenueActs): OriginRules {
  if (!root.has(name)) return absent;
  const object = root.object(name);
  const rules: OriginRules = {
    messages: object.has("messages") ? object.choices("messages", MESSAGE_KINDS) : absent.messages,
    digests: object.flag("digests"),
    chains: object.objects("chains", (item) => ({ chainId: item.chainId("chainId"), ...readLimits(item) })),
    native: object.objects("native", (item) => ({
      chainId: item.chainId("chainId"),
      destinations: readDestinations(item, "destinations"),
      ...readLimits(item),
    })),
    tokens: object.objects("tokens", readToken),
    contracts: object.objects("contracts", readContract),
    permits: object.objects("permits", readPermitRule),
    typedData: object.objects("typedData", readTypedDataRule),
    venues: object.objects("venues", (item) => readVenue(item, acts)),
  };
  object.end();
  checkOnce(
    object,
    "chains",
    rules.chains.map((rule) => String(rule.chainId)),
  );
  checkOnce(
    object,
    "native",
    rules.native.map((rule) => String(rule.chainId)),
  );
  checkOnce(
    object,
    "contracts",
    rules.contracts.map((rule) => `${rule.chainId}/${rule.contract}`),
  );
  checkChains(object, rules);
  return rules;
}

/** Two rules for one thing would leave open which limits hold. */
function checkOnce(object: ConfigObject, name: string, keys: readonly string[]): void {
  for (const [index, key] of keys.entries())
    if (keys.indexOf(key) < index) object.report(`${name}[${index}]`, "names what an earlier entry names");
}

/** A rule on a chain without an entry in `chains` would never allow anything: a slip, and better found at the start. */
function checkChains(object: ConfigObject, rules: OriginRules): void {
  const known = new Set(rules.chains.map((rule) => rule.chainId));
  for (const name of ["native", "tokens", "contracts"] as const)
    for (const [index, rule] of rules[name].entries())
      if (!known.has(rule.chainId)) object.report(`${name}[${index}].chainId`, "has no entry in chains");
}

function readToken(item: ConfigObject): TokenRule {
  const methods = item.choices("methods", TOKEN_METHOD_NAMES);
  if (methods.length === 0) item.report("methods", "must name at least one method");
  return {
    chainId: item.chainId("chainId"),
    token: item.address("token"),
    methods,
    destinations: readDestinations(item, "destinations"),
    ...readLimits(item),
  };
}

function readContract(item: ConfigObject): ContractRule {
  return { chainId: item.chainId("chainId"), contract: item.address("contract"), methods: readMethods(item) };
}

/** Only Permit2 speaks of other tokens than the contract whose domain it has. */
function readPermitRule(item: ConfigObject): PermitRule {
  const kindText = item.text("kind");
  const kind = PERMIT_KINDS.find((known) => known === kindText);
  if (kind === undefined) item.report("kind", `must be one of ${PERMIT_KINDS.join(", ")}`);
  const contract = item.address("contract");
  const isPermit2 = kind?.startsWith("permit2") === true;
  return {
    chainId: item.chainId("chainId"),
    contract,
    kind: kind ?? "eip2612",
    token: isPermit2 ? item.address("token") : contract,
    destinations: readDestinations(item, "destinations"),
    ...readLimits(item),
  };
}

function readTypedDataRule(item: ConfigObject): TypedDataRule {
  const domain = item.object("domain");
  const primaryType = item.text("primaryType");
  if (!isStructName(primaryType)) item.report("primaryType", "is not a name that a type may have");
  const rule: TypedDataRule = {
    name: domain.text("name"),
    version: domain.has("version") ? domain.text("version") : null,
    chainId: domain.chainId("chainId"),
    verifyingContract: domain.has("verifyingContract") ? domain.address("verifyingContract") : null,
    primaryType,
  };
  domain.end();
  return rule;
}

function readVenue(item: ConfigObject, acts: VenueActs): VenueRule {
  const act = item.text("act");
  const needs = acts.needsOf(act);
  if (needs === null) {
    item.report("act", `must be one of ${acts.names.join(", ")}`);
    return { act, destinations: NO_DESTINATIONS, spends: null };
  }
  const hasDestinations =
    needs.destinations === "required" || (needs.destinations === "optional" && item.has("destinations"));
  return {
    act,
    destinations: hasDestinations ? readDestinations(item, "destinations") : NO_DESTINATIONS,
    spends: needs.amounts ? { token: item.text("token"), ...readLimits(item, readVenueAmount) } : null,
  };
}
