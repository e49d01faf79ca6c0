/** A container that cannot be described yet: waiting reason CreateContainerConfigError, the text is the waiting message (reference 1.5). */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
  readonly reason = 'CreateContainerConfigError';
}
