use super::*;

#[test]
fn a_line_is_a_name_and_marks() {
    let set =
        parse("# source\na heavy path cache=tag-2\nb alias=a\nc send guard=log-range\n").unwrap();
    let rows: Vec<Method> = set.iter().copied().collect();
    assert_eq!(rows.iter().map(|row| row.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((rows[0].heavy, rows[0].path, rows[0].send), (Heavy::Always, true, false));
    assert_eq!((rows[1].heavy, rows[1].path, rows[1].alias_of), (Heavy::Always, true, Some("a")));
    assert_eq!((rows[0].cache, rows[1].cache), (Cacheable::Tag(2), Cacheable::Tag(2)));
    assert_eq!(rows[2].cache, Cacheable::Never);
    assert_eq!((rows[2].send, rows[2].guard), (true, Some(Guard::LogRange)));
}

#[test]
fn what_is_wrong_is_named() {
    let unknown = MethodFileError::UnknownMark { method: "a".into(), mark: "hevy".into() };
    assert_eq!(parse("a hevy").unwrap_err(), unknown);
    let unknown = MethodFileError::UnknownMark { method: "a".into(), mark: "cache=ever".into() };
    assert_eq!(parse("a cache=ever").unwrap_err(), unknown);
    assert_eq!(parse("b\na").unwrap_err(), MethodFileError::OutOfOrder("a".into()));
    assert_eq!(parse("a\na").unwrap_err(), MethodFileError::OutOfOrder("a".into()));
    assert_eq!(parse("a alias=b").unwrap_err(), MethodFileError::DanglingAlias("a".into()));
    let chained = parse("a alias=b\nb alias=c\nc");
    assert_eq!(chained.unwrap_err(), MethodFileError::DanglingAlias("a".into()));
}
