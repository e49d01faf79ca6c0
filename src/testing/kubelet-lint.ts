/** All that `promtool check metrics` has to say about our pages: the kubelet and cAdvisor chose these names before there were rules. */
export const KUBELET_LINT: readonly string[] = [
  'container_fs_inodes_total non-counter metrics should not have "_total" suffix',
  'container_memory_failcnt counter metrics should have "_total" suffix',
  'kubelet_certificate_manager_client_expiration_renew_errors counter metrics should have "_total" suffix',
  'kubelet_evictions counter metrics should have "_total" suffix',
  'kubelet_pleg_discard_events counter metrics should have "_total" suffix',
  'kubelet_preemptions counter metrics should have "_total" suffix',
  'kubelet_server_expiration_renew_errors counter metrics should have "_total" suffix',
];
