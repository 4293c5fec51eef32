//! Ports above the client range that are services all the same.

const FIRST_EPHEMERAL: u16 = 32_768;
const KNOWN: &str = include_str!("../data/services.txt");

/// True for a port that may be named as a server's: below 32768, or in the known-services data file.
pub fn is_known_service(port: u16) -> bool {
    port < FIRST_EPHEMERAL || known(port)
}

fn known(port: u16) -> bool {
    KNOWN
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next()?.parse::<u16>().ok())
        .any(|known| known == port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ports_are_ephemeral_unless_a_service_is_known_there() {
        assert!(is_known_service(443) && is_known_service(32_767) && is_known_service(51_820));
        assert!(!is_known_service(32_768) && !is_known_service(65_535));
    }
}
