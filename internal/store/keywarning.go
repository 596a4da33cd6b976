package store

// EndingKeys reads up to limit keys that end after nowMs and within the longest of some times, and whose last warning
// was due before the shortest of these times in which they end. The times ascend.
func (r *Reader) EndingKeys(nowMs int64, within [3]int64, limit int) ([]Key, error) {
	return r.keys(` WHERE revoked_ms = 0 AND expires_ms > ?1 AND expires_ms <= ?1 + ?4 AND warned_ms < expires_ms -
 CASE WHEN expires_ms <= ?1 + ?2 THEN ?2 WHEN expires_ms <= ?1 + ?3 THEN ?3 ELSE ?4 END ORDER BY expires_ms LIMIT ?5`,
		nowMs, within[0], within[1], within[2], int64(limit))
}

// WarnOfKey notes that a warning was due at dueMs and is given. ErrConflict: it, or a later one, was given, or the key
// was revoked or ends at another time now.
func (t *Tx) WarnOfKey(k *Key, dueMs int64) error {
	return t.change("warn of API key", `UPDATE api_key SET warned_ms = ?3 WHERE no = ?1 AND expires_ms = ?2 AND warned_ms < ?3 AND revoked_ms = 0`,
		k.No, k.ExpiresMs, dueMs)
}
