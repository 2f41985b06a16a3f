export default function lines({ data, parentElement }) {}
