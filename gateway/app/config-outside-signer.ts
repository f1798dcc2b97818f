/**
 * The outside signer: its options, and what they need of each other. Each problem is one line that names what to change;
 * the token is in none of them, nor in the configuration.
 */
import { checkSecretFile } from "./config-access.js";
import { isSafeUrl } from "./config-urls.js";
import type { Machine } from "./machine.js";

export interface OutsideSignerConfig {
  readonly url: string;
  readonly tokenFile: string;
  /** PEM; null: the authorities of the system. */
  readonly ca: string | null;
  readonly takesDigests: boolean;
}

interface Values {
  readonly WALLET_PROVIDER: string;
  readonly WALLET_PROVIDER_URL: string;
  readonly WALLET_PROVIDER_TOKEN_FILE: string;
  readonly WALLET_PROVIDER_CA_FILE: string;
  readonly WALLET_PROVIDER_DIGESTS: boolean;
  readonly CUSTODY_DIR: string;
}

interface Surroundings {
  readonly isPublic: boolean;
  readonly machine: Machine;
  readonly readFile: (path: string) => string | null;
}

/** Null: there is none. */
export function readOutsideSigner(
  values: Values,
  { isPublic, machine, readFile }: Surroundings,
  problems: string[],
): OutsideSignerConfig | null {
  const { WALLET_PROVIDER_URL: url, WALLET_PROVIDER_TOKEN_FILE: tokenFile, WALLET_PROVIDER_CA_FILE: caFile } = values;
  if (values.WALLET_PROVIDER !== "https") {
    const isNamed = url !== "" || tokenFile !== "" || caFile !== "" || values.WALLET_PROVIDER_DIGESTS;
    if (isNamed) problems.push("WALLET_PROVIDER_* need WALLET_PROVIDER=https");
    return null;
  }
  if (values.CUSTODY_DIR !== "")
    problems.push("WALLET_PROVIDER=https and CUSTODY_DIR are set together: keep one of them");
  if (isPublic)
    problems.push(
      "WALLET_PROVIDER=https with AUTH_MODE=public would let anyone sign who reaches the port: set AUTH_MODE=signed",
    );
  if (url === "") problems.push("WALLET_PROVIDER=https needs WALLET_PROVIDER_URL");
  else checkUrl(url, problems);
  if (tokenFile === "") problems.push("WALLET_PROVIDER=https needs WALLET_PROVIDER_TOKEN_FILE");
  else checkSecretFile("WALLET_PROVIDER_TOKEN_FILE", tokenFile, 0o077, "600", machine, problems);
  const ca = caFile === "" ? null : readFile(caFile);
  if (caFile !== "" && ca === null) problems.push(`WALLET_PROVIDER_CA_FILE ${caFile} cannot be read`);
  else if (ca !== null && !ca.includes("-----BEGIN CERTIFICATE-----"))
    problems.push(`WALLET_PROVIDER_CA_FILE ${caFile} has no certificate in PEM form`);
  return { url, tokenFile, ca, takesDigests: values.WALLET_PROVIDER_DIGESTS };
}

function checkUrl(url: string, problems: string[]): void {
  if (!isSafeUrl(url))
    problems.push("WALLET_PROVIDER_URL must be https unless it is on this machine: the token travels over it");
  const { search, hash } = new URL(url);
  if (search !== "" || hash !== "") problems.push("WALLET_PROVIDER_URL must have no query and no fragment");
}
