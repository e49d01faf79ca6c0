import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { qualified } from './rbac.ts';

export interface AuditedRequest {
  readonly verb: string;
  /** `pods/status`, `leases.coordination.k8s.io`; a path such as `/healthz` if it is no resource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly allowed: boolean;
  /** SHA-256 of the client certificate in hex, if there was one. */
  readonly certificate?: string;
}

/** What an API server writes down of the requests of one user. */
export class AuditLog {
  readonly #user: string;
  readonly #dir: string;

  constructor(dir: string, user: string) {
    this.#dir = dir;
    this.#user = user;
    mkdirSync(dir, { recursive: true });
    const rules = [{ level: 'Metadata', users: [user] }, { level: 'None' }];
    const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules };
    writeFileSync(this.#file('policy.yaml'), stringify(policy));
  }

  /** For the API server. It writes before it answers. */
  get flags(): string[] {
    return [`--audit-policy-file=${this.#file('policy.yaml')}`, `--audit-log-path=${this.#file('audit.log')}`];
  }

  read(): AuditedRequest[] {
    const lines = readFileSync(this.#file('audit.log'), 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => this.#parse(line));
  }

  #parse(line: string): AuditedRequest {
    const event = JSON.parse(line) as AuditEvent; // one event a line
    if (event.user.username !== this.#user) throw new Error(`a request of ${event.user.username} in the audit log`);
    const { objectRef } = event;
    const path = [objectRef?.resource, objectRef?.subresource].filter((part) => part !== undefined).join('/');
    return {
      verb: event.verb,
      resource: objectRef === undefined ? event.requestURI : qualified(path, objectRef.apiGroup ?? ''),
      namespace: objectRef?.namespace,
      ...certificateOf(event),
      allowed: event.annotations?.['authorization.k8s.io/decision'] === 'allow',
    };
  }

  #file(name: string): string {
    return join(this.#dir, name);
  }
}

function certificateOf({ user }: AuditEvent): Pick<AuditedRequest, 'certificate'> {
  const id = user.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '';
  return id.startsWith('X509SHA256=') ? { certificate: id.slice('X509SHA256='.length) } : {};
}

/** audit.k8s.io/v1, what is read of it. */
interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
  };
  readonly annotations?: Readonly<Record<string, string>>;
}
