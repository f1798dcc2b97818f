/** Certificates made by openssl for one test, valid for localhost and 127.0.0.1. */
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** `serial` is how it is told apart from others. */
export function makeCertificate(folder: string, name: string, serial: number, days = 30): CertificateFiles {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  const { status, stderr } = spawnSync(
    "openssl",
    [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-keyout", keyFile, "-out", certFile, "-days", String(days), "-set_serial", String(serial)],
      ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`openssl failed: ${stderr}`);
  chmodSync(keyFile, 0o600);
  return { certFile, keyFile };
}
