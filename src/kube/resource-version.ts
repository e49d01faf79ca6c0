/**
 * Whether `version` is newer than `than`. Resource versions are decimal numbers that grow, and comparing them is allowed
 * (KEP-5504). One that is not a number, or is missing, counts as newer: the later message is then believed.
 */
export function isNewer(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || !/^\d+$/.test(version) || !/^\d+$/.test(than)) return true;
  return version.length === than.length ? version > than : version.length > than.length;
}
