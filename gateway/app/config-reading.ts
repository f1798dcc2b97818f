/**
 * The value of one option: from the environment, from the file, or its default; checked against its kind and bounds. A
 * refusal never quotes the value, which may be a secret.
 */
import type { Option } from "./config-option.js";
import { isAmount, milliBps } from "./config-values.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the value of an option, its default where it is not set or wrong; what is wrong is added to `problems`. */
export function readOption(
  name: string,
  option: Option,
  environment: Environment,
  file: Readonly<Record<string, unknown>>,
  problems: string[],
): unknown {
  const fromEnvironment = environment[name];
  // A shell unsets a variable by emptying it; for text an empty value counts.
  const isSet = fromEnvironment !== "" || option.kind === "text" || option.kind === "secret" || option.kind === "list";
  if (fromEnvironment !== undefined && isSet) return parseOption(name, option, fromEnvironment, problems);
  if (!Object.hasOwn(file, name)) return option.default;
  const value = file[name];
  if (option.kind === "list" && Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return parseOption(name, option, String(value), problems);
  problems.push(`${name} must be ${kindWords(option)}`);
  return option.default;
}

function parseOption(name: string, option: Option, text: string, problems: string[]): unknown {
  const refuse = () => {
    problems.push(`${name} must be ${kindWords(option)}`);
    return option.default;
  };
  switch (option.kind) {
    case "text":
      return name === "DATA_DIR" || name === "HOST"
        ? text.trim() === ""
          ? refuse()
          : text
        : /[\r\n]/.test(text)
          ? refuse()
          : text;
    case "secret":
      return text;
    case "amount":
      return text === "" ? option.default : isAmount(text) ? text : refuse();
    case "bps":
      return text === "" || !Number.isNaN(milliBps(text)) ? text : refuse();
    case "url":
    case "optional-url":
      return isUrl(text, name) ? text.replace(/\/+$/, "") : refuse();
    case "word":
      return option.words.includes(text) ? text : refuse();
    case "boolean":
      return text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : refuse();
    case "list":
      return text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
    default: {
      const value = /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN;
      const whole = option.kind === "number" || Number.isInteger(value);
      return whole && value >= option.min && value <= option.max ? value : refuse();
    }
  }
}

function isUrl(text: string, name: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const schemes = name.endsWith("_WS_URL") ? ["ws:", "wss:"] : ["http:", "https:"];
  return schemes.includes(url.protocol) && url.username === "" && url.password === "";
}

function kindWords(option: Option): string {
  switch (option.kind) {
    case "text":
      return "non-empty text on one line";
    case "secret":
      return "text";
    case "url":
    case "optional-url":
      return "a URL (http or https; ws or wss for *_WS_URL) without user or password";
    case "bps":
      return "basis points from -100 to 100 with at most three decimals, or empty";
    case "amount":
      return "an amount above 0 with at most six decimals, or empty";
    case "word":
      return `one of ${option.words.join(", ")}`;
    case "boolean":
      return "true or false";
    case "list":
      return "a comma-separated list (in the file: an array of texts)";
    case "integer":
      return `a whole number from ${option.min} to ${option.max}`;
    case "number":
      return `a number from ${option.min} to ${option.max}`;
  }
}
